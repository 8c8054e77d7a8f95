"""The page of reasons: what each reason and each cause means, and what a person does."""
