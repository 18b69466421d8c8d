"""Tests with a language model that is really served; `make test-model` runs them, and the suite does not."""
