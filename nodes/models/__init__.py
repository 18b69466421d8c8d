"""The language models: what is asked of one, what it answers, and how each of its failures is named."""
