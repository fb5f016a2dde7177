"""What was cited can be read back from the run."""

from warpsmith.agent.events import Said
from warpsmith.core import Role


def test_what_a_policy_was_shown_is_in_the_run_s_events(stage, say, library):
    stage.run([say.call("docs", query="softmax in one pass", n=1)])
    answers = [event.message for event in stage.heard.of(Said) if event.message.role is Role.TOOL]
    assert [answer.text.split("\n")[0] for answer in answers] == [
        "[warpsmith:online-softmax] Online softmax: maximum and sum in one pass"
    ]
