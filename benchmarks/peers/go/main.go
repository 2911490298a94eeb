// Peers in Go, as benchmarks/peers/run drives them: peers NAME ADDRESS. The requests are those of ../requests.hpp.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const ttl = 30 * time.Second

type release func() error

// tryLock takes a key that is free, lock waits for one that is not.
type locker interface {
	tryLock(key string) (release, error)
	lock(key string) (release, error)
}

var background = context.Background()

type redsyncLocker struct{ locks *redsync.Redsync }

func (l redsyncLocker) tryLock(key string) (release, error) {
	mutex := l.locks.NewMutex(key, redsync.WithExpiry(ttl))
	return unlockOf(mutex), mutex.TryLock()
}

func (l redsyncLocker) lock(key string) (release, error) {
	mutex := l.locks.NewMutex(key, redsync.WithExpiry(ttl))
	return unlockOf(mutex), mutex.Lock()
}

func unlockOf(mutex *redsync.Mutex) release {
	return func() error {
		if ok, err := mutex.Unlock(); err != nil || !ok {
			return fmt.Errorf("not unlocked: %v", err)
		}
		return nil
	}
}

type redislockLocker struct{ locks *redislock.Client }

func (l redislockLocker) tryLock(key string) (release, error) { return l.obtain(key, nil) }

// As its README has it.
func (l redislockLocker) lock(key string) (release, error) {
	return l.obtain(key, &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
}

func (l redislockLocker) obtain(key string, how *redislock.Options) (release, error) {
	lock, err := l.locks.Obtain(background, key, ttl, how)
	return func() error { return lock.Release(background) }, err
}

// All mutexes of a process on one session.
type etcdShared struct{ session *concurrency.Session }

func (l etcdShared) tryLock(key string) (release, error) { return l.lock(key) }

func (l etcdShared) lock(key string) (release, error) {
	mutex := concurrency.NewMutex(l.session, key)
	return func() error { return mutex.Unlock(background) }, mutex.Lock(background)
}

// A session for each lock, so that each has a lease of its own, as pawl's have.
type etcdOwn struct{ client *clientv3.Client }

func (l etcdOwn) tryLock(key string) (release, error) { return l.lock(key) }

func (l etcdOwn) lock(key string) (release, error) {
	session, err := concurrency.NewSession(l.client, concurrency.WithTTL(int(ttl.Seconds())))
	if err != nil {
		return nil, err
	}
	mutex := concurrency.NewMutex(session, key)
	return func() error {
		if err := mutex.Unlock(background); err != nil {
			return err
		}
		return session.Close()
	}, mutex.Lock(background)
}

// open makes a client with so many connections at most; 0: as many as its defaults allow.
func open(name, address string, connections int) (locker, error) {
	switch name {
	case "redsync":
		client := redis.NewClient(&redis.Options{Addr: address, PoolSize: connections})
		return redsyncLocker{redsync.New(goredis.NewPool(client))}, client.Ping(background).Err()
	case "redislock":
		client := redis.NewClient(&redis.Options{Addr: address, PoolSize: connections})
		return redislockLocker{redislock.New(client)}, client.Ping(background).Err()
	case "etcd-shared", "etcd-own":
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, DialTimeout: 10 * time.Second})
		if err != nil || name == "etcd-own" {
			return etcdOwn{client}, err
		}
		session, err := concurrency.NewSession(client, concurrency.WithTTL(int(ttl.Seconds())))
		return etcdShared{session}, err
	}
	return nil, fmt.Errorf("unknown peer '%s'", name)
}

func pair(by locker, key string) error {
	end, err := by.tryLock(key)
	if err != nil {
		return err
	}
	return end()
}

func pairs(by locker, key string, count int) ([]int64, error) {
	times := make([]int64, count)
	for i := range times {
		begun := time.Now()
		if err := pair(by, key); err != nil {
			return nil, err
		}
		times[i] = time.Since(begun).Nanoseconds()
	}
	return times, nil
}

func crowd(by locker, key string, callers, each int) ([]int64, error) {
	var all sync.WaitGroup
	faults := make(chan error, callers)
	begun := time.Now()
	for i := 0; i < callers; i++ {
		all.Add(1)
		go func(key string) {
			defer all.Done()
			if _, err := pairs(by, key, each); err != nil {
				faults <- err
			}
		}(fmt.Sprintf("%s/%d", key, i))
	}
	all.Wait()
	took := time.Since(begun).Nanoseconds()
	select {
	case err := <-faults:
		return nil, err
	default:
		return []int64{took}, nil
	}
}

func handOver(one, other locker, key string, hold time.Duration) ([]int64, error) {
	end, err := one.tryLock(key)
	if err != nil {
		return nil, err
	}
	granted := make(chan time.Time, 1)
	fault := make(chan error, 1)
	go func() {
		end, err := other.lock(key)
		granted <- time.Now()
		if err == nil {
			err = end()
		}
		fault <- err
	}()
	time.Sleep(hold)
	begun := time.Now()
	if err := end(); err != nil {
		return nil, err
	}
	took := (<-granted).Sub(begun).Nanoseconds()
	return []int64{took}, <-fault
}

type clients struct{ one, other, many locker }

func (c clients) answer(request string) ([]int64, error) {
	words := strings.Fields(request)
	if len(words) < 3 {
		return nil, fmt.Errorf("unknown request '%s'", request)
	}
	first, err := strconv.Atoi(words[2])
	if err != nil {
		return nil, err
	}
	switch {
	case words[0] == "pairs":
		return pairs(c.one, words[1], first)
	case words[0] == "crowd" && len(words) == 4:
		second, err := strconv.Atoi(words[3])
		if err != nil {
			return nil, err
		}
		return crowd(c.many, words[1], first, second)
	case words[0] == "hand-over":
		return handOver(c.one, c.other, words[1], time.Duration(first)*time.Millisecond)
	}
	return nil, fmt.Errorf("unknown request '%s'", request)
}

func serve() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: peers NAME ADDRESS")
	}
	var of clients
	for where, connections := range map[*locker]int{&of.one: 1, &of.other: 1, &of.many: 0} {
		opened, err := open(os.Args[1], os.Args[2], connections)
		if err != nil {
			return err
		}
		*where = opened
	}
	requests := bufio.NewScanner(os.Stdin)
	for requests.Scan() {
		times, err := of.answer(requests.Text())
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(map[string][]int64{"nanos": times}); err != nil {
			return err
		}
	}
	return requests.Err()
}

func main() {
	if err := serve(); err != nil {
		_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"error": err.Error()})
		os.Exit(1)
	}
}
