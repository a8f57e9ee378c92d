"""What is measured, against peers, in one run."""
