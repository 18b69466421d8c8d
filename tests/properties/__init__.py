"""Properties that hold for every sequence of events, tried on sequences that Hypothesis makes up."""
