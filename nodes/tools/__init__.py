"""How documents are found, fetched and read."""
