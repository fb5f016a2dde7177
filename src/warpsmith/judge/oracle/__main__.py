"""`python -m warpsmith.judge.oracle`: answer the judge's requests about one task."""

from warpsmith.judge.channel import serve
from warpsmith.judge.oracle.session import Session
from warpsmith.judge.protocol import OracleCall, OracleReply


def main() -> None:
    session = Session()
    serve(OracleCall, lambda call: OracleReply(nonce=call.nonce, answer=session.answer(call.request)))


if __name__ == "__main__":
    main()
