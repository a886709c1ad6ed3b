"""What each stage is about, as data: facts to notice, mistakes carried out, questions with their judges, programs."""
