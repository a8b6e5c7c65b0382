package ncclxml_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/ringtopo/ringtopo/topo/ncclxml"
)

const twoGPUs = `<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:01:00.0" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" gdr="1"/>
    </pci>
    <pci busid="0000:02:00.0" link_speed="fast" link_width="16">
      <gpu dev="1" sm="80" gdr="1"/>
    </pci>
  </cpu>
</system>`

// From a file to the machine that a job on its second GPU sees.
func Example() {
	file, err := ncclxml.Decode(strings.NewReader(twoGPUs), "two.xml")
	if err != nil {
		fmt.Println(err)
		return
	}
	job, err := file.Select([]int{1})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := ncclxml.Encode(os.Stdout, job); err != nil {
		fmt.Println(err)
		return
	}
	machine, err := job.System()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range machine.Assumed {
		fmt.Printf("%s: %s\n", a.Where, a.What)
	}
	// Output:
	// <system version="1">
	//   <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">
	//     <pci busid="0000:02:00.0" link_speed="fast" link_width="16">
	//       <gpu dev="1" sm="80" gdr="1" rank="0"/>
	//     </pci>
	//   </cpu>
	// </system>
	// line 6, pci 0000:02:00.0: link_speed "fast": taken for 8 GT/s
}

func ExampleDecode_truncated() {
	_, err := ncclxml.Decode(strings.NewReader(twoGPUs[:180]), "two.xml")
	fmt.Println(err)
	// Output: two.xml:4: the file ends early: not closed are <pci> of line 3, <cpu> of line 2, <system> of line 1; get the whole file; a part of it is not used
}
