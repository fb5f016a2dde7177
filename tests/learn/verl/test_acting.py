"""How an episode draws from verl's servers, from a thread of its own."""

import asyncio
from types import SimpleNamespace

import pytest

from warpsmith.core import InfraError
from warpsmith.learn.engines.verl.acting import Distant, Student
from warpsmith.policy.base import Sampling

END = 2
PARAMS = {"temperature": 0.7, "top_p": 1.0, "top_k": -1, "logprobs": True}


class Server:
    """Says what it was given to say, and remembers how it was asked."""

    def __init__(self, token_ids=(8, END), log_probs=(-0.5, -1.0), error=None):
        self.asked = []
        self._answer = SimpleNamespace(token_ids=token_ids, log_probs=log_probs, stop_reason="aborted")
        self._error = error

    async def generate(self, request_id, *, prompt_ids, sampling_params):
        self.asked.append((request_id, prompt_ids, sampling_params))
        if self._error is not None:
            raise self._error
        return self._answer


def drawn(server, prompts=((5, 6),), max_tokens=4):
    student = Student(template=None, vocabulary="v", stop_ids=frozenset({END}), context_tokens=10)

    async def main():
        loop = asyncio.get_running_loop()
        policy = Distant(server=server, loop=loop, params=PARAMS, student=student, name="one")
        return await asyncio.to_thread(policy.generate, prompts, Sampling(max_tokens=max_tokens))

    return asyncio.run(main())


def test_a_reply_is_what_the_server_drew():
    server = Server()
    (output,) = drawn(server)
    assert (output.ids, output.logprobs, output.is_cut) == ((8, END), (-0.5, -1.0), False)
    assert server.asked == [("one", [5, 6], {**PARAMS, "max_tokens": 4})]


def test_a_reply_without_an_end_was_cut():
    (output,) = drawn(Server(token_ids=(8, 9)))
    assert output.is_cut


def test_no_reply_outgrows_the_context():
    server = Server()
    drawn(server, prompts=(tuple(range(8)),), max_tokens=100)
    assert server.asked[0][2]["max_tokens"] == 2


def test_a_probability_that_rounding_made_more_than_one_is_one():
    (output,) = drawn(Server(log_probs=(1e-3, -1.0)))
    assert output.logprobs == (0.0, -1.0)


@pytest.mark.parametrize(
    ("server", "prompt", "message"),
    [
        (Server(token_ids=()), (5,), "drew nothing"),
        (Server(log_probs=None), (5,), "without a log-probability"),
        (Server(log_probs=(-0.5,)), (5,), "without a log-probability"),
        (Server(error=RuntimeError("gone")), (5,), "a server failed: gone"),
        (Server(), tuple(range(10)), "leave no room in 10"),
    ],
)
def test_what_a_server_gets_wrong_is_our_failure(server, prompt, message):
    with pytest.raises(InfraError, match=message):
        drawn(server, prompts=(prompt,))
