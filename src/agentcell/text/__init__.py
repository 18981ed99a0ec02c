"""Text in, text out: nothing here knows events, HTML or notebooks."""
