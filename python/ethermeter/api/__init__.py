"""Operations: what a person can type and a script can call, each with options and an answer."""
