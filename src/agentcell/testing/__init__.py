"""For tests of code that uses agentcell: a clock that obeys, comms that remember, and a server that replays recorded streams."""
