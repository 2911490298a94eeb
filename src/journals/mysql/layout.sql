-- -> the layout of the tables.
SELECT layout FROM pawl_journal_marker WHERE only_one = 1
