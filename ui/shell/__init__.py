"""What stands round every page: frame, sidebar, navigation, syllabus, languages, colours, numbers, errors."""
