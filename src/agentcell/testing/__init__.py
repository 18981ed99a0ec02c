"""For tests of code that uses agentcell: a clock that obeys, comms that remember, and a server that replays recorded streams."""

from agentcell.testing.clock import FakeClock
from agentcell.testing.comms import patches, recorded_comms

__all__ = ["FakeClock", "patches", "recorded_comms"]
