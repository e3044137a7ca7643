package safefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"time"
)

// The statistics on disk: the mark, numbers, texts of fixed length, and the CRC-32 of all
// before it. They never grow, and fit into one page of the cache: who is killed while he
// writes them leaves the old ones or the new ones.
const (
	recordMark    = "lizalk1\n"
	recordNumbers = 10 + 2*durationBuckets
	recordTexts   = 3
	recordText    = 64
	recordSize    = len(recordMark) + 8*recordNumbers + recordTexts*recordText + crc32.Size
)

var errDamaged = errors.New("damaged")

func (s *LockStats) encode() []byte {
	b := append(make([]byte, 0, recordSize), recordMark...)
	number := func(n int64) { b = binary.LittleEndian.AppendUint64(b, uint64(n)) }
	for _, n := range []int64{
		s.Since.UnixNano(), int64(s.Count), int64(s.Killed),
		int64(s.Wait.Total), int64(s.Wait.Max), int64(s.Hold.Total), int64(s.Hold.Max),
		int64(s.Longest.PID), s.Longest.PIDStart, s.Longest.Since.UnixNano(),
	} {
		number(n)
	}
	for i := range durationBuckets {
		number(int64(s.Wait.Buckets[i]))
		number(int64(s.Hold.Buckets[i]))
	}
	for _, text := range []string{s.Longest.Host, s.Longest.Agent, s.Longest.Op} {
		var field [recordText]byte
		copy(field[:], text)
		b = append(b, field[:]...)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func decodeStats(b []byte) (s LockStats, err error) {
	if len(b) != recordSize || !bytes.HasPrefix(b, []byte(recordMark)) {
		return s, errDamaged
	}
	end := recordSize - crc32.Size
	if binary.LittleEndian.Uint32(b[end:]) != crc32.ChecksumIEEE(b[:end]) {
		return s, errDamaged
	}
	b = b[len(recordMark):end]
	number := func() int64 {
		n := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return int64(n)
	}
	text := func() string {
		field := string(b[:recordText])
		b = b[recordText:]
		return strings.ToValidUTF8(strings.TrimRight(field, "\x00"), "")
	}
	s.Since = time.Unix(0, number()).UTC()
	s.Count, s.Killed = uint64(number()), uint64(number())
	s.Wait.Total, s.Wait.Max = time.Duration(number()), time.Duration(number())
	s.Hold.Total, s.Hold.Max = time.Duration(number()), time.Duration(number())
	s.Longest.PID, s.Longest.PIDStart = int(number()), number()
	s.Longest.Since = time.Unix(0, number()).UTC()
	for i := range durationBuckets {
		s.Wait.Buckets[i], s.Hold.Buckets[i] = uint64(number()), uint64(number())
	}
	s.Longest.Host, s.Longest.Agent, s.Longest.Op = text(), text(), text()
	return s, nil
}
