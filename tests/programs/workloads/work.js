// SPDX-License-Identifier: MIT
// What Node programs ask of malloc: buffers, zlib, crypto, worker threads. Prints one digest per round.
'use strict';
const crypto = require('crypto');
const zlib = require('zlib');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

function chance(seed) {
    let state = seed >>> 0 || 1;
    return (below) => {
        state ^= state << 13; state >>>= 0;
        state ^= state >>> 17;
        state ^= state << 5; state >>>= 0;
        return state % below;
    };
}

function round(seed) {
    const next = chance(seed);
    const hash = crypto.createHash('sha256');
    const kept = [];
    for (let i = 0; i < 300; i++) {
        const buffer = Buffer.alloc(1 + next(60000), i & 255);
        buffer.writeUInt8(next(256), next(buffer.length));
        kept.push(buffer);
        if (kept.length > 80) kept.splice(next(kept.length), 1);
    }
    const whole = Buffer.concat(kept);
    const packed = zlib.deflateSync(whole, { level: 6 });
    hash.update(zlib.inflateSync(packed));
    hash.update(zlib.brotliDecompressSync(zlib.brotliCompressSync(whole.subarray(0, 100000), {
        params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } })));
    hash.update(crypto.pbkdf2Sync('secret', String(seed), 500, 64, 'sha512'));
    hash.update(JSON.stringify(JSON.parse(JSON.stringify(kept.map((item) => item.length)))));
    return hash.digest('hex');
}

if (isMainThread) {
    const rounds = Number(process.argv[2]);
    for (let i = 1; i <= rounds / 2; i++) console.log(round(i));
    const workers = Array.from({ length: 8 }, (_, number) => new Promise((resolve, reject) => {
        const share = { first: 1000 + number * 100, rounds: Math.ceil(rounds / 16) };
        const worker = new Worker(__filename, { workerData: share });
        worker.on('message', resolve);
        worker.on('error', reject);
    }));
    Promise.all(workers).then((digests) => digests.forEach((digest) => console.log(digest)));
} else {
    const digests = [];
    for (let i = 0; i < workerData.rounds; i++) digests.push(round(workerData.first + i));
    parentPort.postMessage(digests.join(' '));
}
