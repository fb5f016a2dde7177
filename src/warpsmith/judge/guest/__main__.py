"""`python -m warpsmith.judge.guest`: answer the judge's requests about one candidate."""

from warpsmith.judge.channel import serve
from warpsmith.judge.guest.session import Session
from warpsmith.judge.protocol import GuestCall, GuestReply


def main() -> None:
    session = Session()
    serve(GuestCall, lambda call: GuestReply(nonce=call.nonce, answer=session.answer(call.request)))


if __name__ == "__main__":
    main()
