"""Games between searchless players: openings, schedules, play in lockstep, results (paper appendix F)."""
