package launch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// What two processes say to each other is a sequence of frames: a header of
// eight bytes, a payload, and open files beside it.
const (
	headerBytes = 8
	maxPayload  = 64 << 20
	maxFiles    = 64
)

// kind is what a frame says.
type kind uint8

const (
	hello kind = iota + 1 // member to hub: who it is; hub to member: what it is to do
	part                  // one rank's contribution to an exchange
	dead                  // hub to member: a rank is lost; the payload is the reason
	end                   // hub to member: the job is over; member to hub: it leaves in peace
)

// frame is one message. rank is whom it is about.
type frame struct {
	kind    kind
	rank    int
	payload []byte
	files   []*os.File
}

// link is a connection that carries frames. Sending is safe from several
// goroutines, receiving from one.
type link struct {
	conn net.Conn
	mu   sync.Mutex
}

var errNoFiles = errors.New("open files cannot be sent to another host")

// send writes a frame. The files stay open.
func (l *link) send(f frame) error {
	if len(f.payload) > maxPayload || len(f.files) > maxFiles {
		return fmt.Errorf("message of %d bytes and %d files, at most %d and %d", len(f.payload), len(f.files), maxPayload, maxFiles)
	}
	var h [headerBytes]byte
	h[0], h[1] = byte(f.kind), byte(len(f.files))
	binary.LittleEndian.PutUint16(h[2:], uint16(f.rank))
	binary.LittleEndian.PutUint32(h[4:], uint32(len(f.payload)))
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.sendHeader(h[:], f.files); err != nil {
		return err
	}
	_, err := l.conn.Write(f.payload)
	return err
}

func (l *link) sendHeader(h []byte, files []*os.File) error {
	if len(files) == 0 {
		_, err := l.conn.Write(h)
		return err
	}
	c, ok := l.conn.(*net.UnixConn)
	if !ok {
		return errNoFiles
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	n, _, err := c.WriteMsgUnix(h, syscall.UnixRights(fds...), nil)
	if err == nil && n < len(h) {
		err = io.ErrShortWrite
	}
	return err
}

// receive reads the next frame. io.EOF means that the other side is gone.
func (l *link) receive() (frame, error) {
	var h [headerBytes]byte
	files, err := l.receiveHeader(h[:])
	if err != nil {
		return frame{}, err
	}
	f := frame{kind: kind(h[0]), rank: int(int16(binary.LittleEndian.Uint16(h[2:]))), files: files}
	n := binary.LittleEndian.Uint32(h[4:])
	if n > maxPayload || len(files) != int(h[1]) {
		closeAll(files)
		return frame{}, fmt.Errorf("bad message: %d bytes, %d of %d files", n, len(files), h[1])
	}
	f.payload = make([]byte, n)
	if _, err := io.ReadFull(l.conn, f.payload); err != nil {
		closeAll(files)
		return frame{}, io.ErrUnexpectedEOF
	}
	return f, nil
}

// receiveHeader reads a header and the files that came with it.
func (l *link) receiveHeader(h []byte) ([]*os.File, error) {
	c, ok := l.conn.(*net.UnixConn)
	if !ok {
		_, err := io.ReadFull(l.conn, h)
		return nil, err
	}
	var files []*os.File
	oob := make([]byte, syscall.CmsgSpace(4*maxFiles))
	for at := 0; at < len(h); {
		n, on, _, _, err := c.ReadMsgUnix(h[at:], oob)
		more, ferr := filesOf(oob[:on])
		files = append(files, more...)
		switch {
		case err == nil && n == 0 && on == 0:
			err = io.EOF
		case err == nil:
			err = ferr
		}
		if err != nil {
			closeAll(files)
			return nil, err
		}
		at += n
	}
	return files, nil
}

// filesOf takes open files out of a control message.
func filesOf(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range msgs {
		fds, err := syscall.ParseUnixRights(&msgs[i])
		if err != nil {
			continue // some other kind of message
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "shared"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
