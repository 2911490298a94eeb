"""python-redis-lock, as benchmarks/peers/run drives it: peer.py python-redis-lock HOST:PORT. The requests are those of ../requests.hpp."""
import concurrent.futures
import json
import sys
import time

import redis
import redis_lock

TTL = 30


def connect(address):
    host, _, port = address.rpartition(":")
    return redis.Redis(host=host, port=int(port))


def pair(by, key):
    lock = redis_lock.Lock(by, key, expire=TTL)
    if not lock.acquire(blocking=False):
        raise RuntimeError(f"'{key}' is busy")
    lock.release()


def pairs(by, key, count):
    times = []
    for _ in range(count):
        begun = time.perf_counter_ns()
        pair(by, key)
        times.append(time.perf_counter_ns() - begun)
    return times


def crowd(by, key, callers, each):
    with concurrent.futures.ThreadPoolExecutor(callers) as pool:
        begun = time.perf_counter_ns()
        for one in [pool.submit(pairs, by, f"{key}/{i}", each) for i in range(callers)]:
            one.result()
        return [time.perf_counter_ns() - begun]


def hand_over(one, other, pool, key, hold):
    def wait():
        lock = redis_lock.Lock(other, key, expire=TTL)
        if not lock.acquire(blocking=True):
            raise RuntimeError("the waiter got nothing")
        at = time.perf_counter_ns()
        lock.release()
        return at

    held = redis_lock.Lock(one, key, expire=TTL)
    if not held.acquire(blocking=False):
        raise RuntimeError(f"'{key}' is busy")
    waiter = pool.submit(wait)
    time.sleep(hold / 1000)
    begun = time.perf_counter_ns()
    held.release()
    return [waiter.result() - begun]


def serve(address):
    one, other, many = (connect(address) for _ in range(3))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for request in sys.stdin:
            verb, key, *numbers = request.split()
            numbers = [int(number) for number in numbers]
            if verb == "pairs":
                times = pairs(one, key, *numbers)
            elif verb == "crowd":
                times = crowd(many, key, *numbers)
            elif verb == "hand-over":
                times = hand_over(one, other, pool, key, *numbers)
            else:
                raise ValueError(f"unknown request '{verb}'")
            print(json.dumps({"nanos": times}), flush=True)


try:
    serve(sys.argv[2])
except Exception as fault:  # whatever it is, the one that asked has to know
    print(json.dumps({"error": str(fault)}), flush=True)
    sys.exit(1)
