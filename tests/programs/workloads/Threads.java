// SPDX-License-Identifier: MIT

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;

/** A hundred threads that live on native memory: zlib streams and direct buffers. Prints one checksum. */
public final class Threads {
    private static final int COUNT = 100;

    private static byte[] compress(byte[] input, int level) throws Exception {
        Deflater deflater = new Deflater(level);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (DeflaterOutputStream stream = new DeflaterOutputStream(out, deflater)) {
            stream.write(input);
        } finally {
            deflater.end();
        }
        return out.toByteArray();
    }

    private static byte[] expand(byte[] packed) throws Exception {
        Inflater inflater = new Inflater();
        try (InflaterInputStream stream = new InflaterInputStream(new ByteArrayInputStream(packed), inflater)) {
            return stream.readAllBytes();
        } finally {
            inflater.end();
        }
    }

    private static long work(int number, int rounds) throws Exception {
        Random random = new Random(number);
        CRC32 crc = new CRC32();
        ByteBuffer[] kept = new ByteBuffer[8];
        for (int round = 0; round < rounds; round++) {
            byte[] input = new byte[2000 + random.nextInt(30000)];
            for (int i = 0; i < input.length; i++) {
                input[i] = (byte) (random.nextInt(100) < 80 ? 'a' : random.nextInt(256));
            }
            crc.update(expand(compress(input, 1 + round % 9)));
            ByteBuffer direct = ByteBuffer.allocateDirect(1 + random.nextInt(200000));
            while (direct.remaining() >= 8) {
                direct.putLong(random.nextLong());
            }
            direct.flip();
            crc.update(direct);
            kept[round % kept.length] = direct;
        }
        return crc.getValue();
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        AtomicLong total = new AtomicLong();
        Thread[] threads = new Thread[COUNT];
        for (int number = 0; number < COUNT; number++) {
            int own = number;
            threads[number] = new Thread(() -> {
                try {
                    total.addAndGet(work(own, rounds) * (own + 1));
                } catch (Exception failure) {
                    failure.printStackTrace();
                    System.exit(1);
                }
            });
            threads[number].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(Long.toHexString(total.get()));
    }
}
