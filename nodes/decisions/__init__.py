"""What each kind of review shows, allows and does: one file per kind."""
