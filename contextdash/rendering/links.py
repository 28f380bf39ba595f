"""What every link in untrusted text carries."""

REL = "nofollow noopener noreferrer"
