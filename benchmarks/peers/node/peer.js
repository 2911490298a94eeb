// node-redlock, as benchmarks/peers/run drives it: peer.js redlock HOST:PORT. The requests are those of ../requests.hpp.
'use strict';

const readline = require('node:readline');
const { setTimeout: sleep } = require('node:timers/promises');
const Redis = require('ioredis');
const Redlock = require('redlock');

const TTL = 30_000;

function connect(address) {
  const [host, port] = address.split(':');
  return new Redlock([new Redis({ host, port: Number(port) })]);
}

const now = () => process.hrtime.bigint();

async function pair(by, key) {
  const lock = await by.lock(key, TTL);
  await lock.unlock();
}

async function pairs(by, key, count) {
  const times = [];
  for (let i = 0; i < count; i += 1) {
    const begun = now();
    await pair(by, key);
    times.push(Number(now() - begun));
  }
  return times;
}

async function crowd(by, key, callers, each) {
  const begun = now();
  await Promise.all(Array.from({ length: callers }, (_, i) => pairs(by, `${key}/${i}`, each)));
  return [Number(now() - begun)];
}

async function handOver(one, other, key, hold) {
  const held = await one.lock(key, TTL);
  const waiter = other.lock(key, TTL).then(async (lock) => {
    const at = now();
    await lock.unlock();
    return at;
  });
  await sleep(hold);
  const begun = now();
  await held.unlock();
  return [Number((await waiter) - begun)];
}

async function serve(address) {
  const one = connect(address);
  const other = connect(address);
  for await (const request of readline.createInterface({ input: process.stdin })) {
    const [verb, key, ...rest] = request.split(' ');
    const numbers = rest.map(Number);
    let times;
    if (verb === 'pairs') times = await pairs(one, key, ...numbers);
    else if (verb === 'crowd') times = await crowd(one, key, ...numbers);
    else if (verb === 'hand-over') times = await handOver(one, other, key, ...numbers);
    else throw new Error(`unknown request '${request}'`);
    console.log(JSON.stringify({ nanos: times }));
  }
}

serve(process.argv[3]).then(
  () => process.exit(0),
  (fault) => {
    console.log(JSON.stringify({ error: String(fault) }));
    process.exit(1);
  },
);
