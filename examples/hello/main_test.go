package main

func Example() {
	main()
	// Output:
	// 4:0@1 pending
	// 4:0@1 alive {0.05 0.1}
}
