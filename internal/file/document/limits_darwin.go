package document

func limitSystem(q request) { setLimits(q) }

func heldMemory() func() uint64 { return goMemory }
