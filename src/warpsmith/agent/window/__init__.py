"""What a policy hears of a long conversation, and where the rest is kept."""
