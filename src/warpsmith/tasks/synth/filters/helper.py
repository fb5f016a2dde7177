"""`python -m warpsmith.tasks.synth.filters.helper`: answers questions about one task, whose code it runs.

It is a stranger's code that runs here, so the process is thrown away afterwards. Nothing keeps that code from
answering in our place, and a task may so lie itself into the set: what the filter says is no verdict, and the
judge looks again at every task that it judges by.
"""

from warpsmith.judge.channel import serve
from warpsmith.tasks.synth.filters.examination import Examination
from warpsmith.tasks.synth.filters.protocol import Answer, Call


def main() -> None:
    examination = Examination()
    serve(Call, lambda call: Answer(nonce=call.nonce, answer=examination.answer(call.request)))


if __name__ == "__main__":
    main()
