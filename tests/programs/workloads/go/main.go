// SPDX-License-Identifier: MIT

// A cgo program: 64 goroutines allocate in C, fill, hand the blocks to each other over channels, check and free them on
// whatever thread they then run on.
package main

/*
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *
make_block(size_t size, unsigned char mark)
{
    void *block = malloc(size);
    if (block != NULL) {
        memset(block, mark, size);
    }
    return block;
}

static uint64_t
check_block(const unsigned char *block, size_t size)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum += block[i];
    }
    return sum;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"
)

const (
	workers = 64
	rounds  = 6000
)

type block struct {
	memory unsafe.Pointer
	size   C.size_t
}

func produce(number int, out chan<- block) {
	state := uint64(number)*2654435761 + 1
	for i := 0; i < rounds; i++ {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		size := C.size_t(state%4000 + 1)
		memory := C.make_block(size, C.uchar(number+1))
		if i%8 == 0 {
			memory = C.realloc(memory, size*2)
			C.memset(unsafe.Pointer(uintptr(memory)+uintptr(size)), C.int(number+1), size)
			size *= 2
		}
		out <- block{memory, size}
	}
	close(out)
}

func consume(in <-chan block, sum *uint64) {
	for item := range in {
		*sum += uint64(C.check_block((*C.uchar)(item.memory), item.size))
		C.free(item.memory)
	}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "version" {
		name := C.CString(runtime.Version())
		fmt.Println(C.GoString(name))
		C.free(unsafe.Pointer(name))
		return
	}
	var group sync.WaitGroup
	sums := make([]uint64, workers)
	for number := 0; number < workers; number++ {
		queue := make(chan block, 256)
		group.Add(2)
		go func(number int) { defer group.Done(); produce(number, queue) }(number)
		go func(number int) { defer group.Done(); consume(queue, &sums[number]) }(number)
	}
	group.Wait()
	total := uint64(0)
	for _, sum := range sums {
		total = total*31 + sum
	}
	fmt.Printf("%x\n", total)
}
