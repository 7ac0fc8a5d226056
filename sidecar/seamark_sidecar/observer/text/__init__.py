"""What is said in a session, by the agent and to it."""
