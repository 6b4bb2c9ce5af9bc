// SPDX-License-Identifier: MIT
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Threads that use malloc as a JVM does (zlib, direct memory, the compilers, threads) while garbage is collected; each
 * round's result is compared with the first. The first line from standard input makes it say how many, the second ends it.
 */
public class Soak {
    static volatile boolean over;
    static final java.util.concurrent.atomic.AtomicLong rounds = new java.util.concurrent.atomic.AtomicLong();

    static long round(int seed) throws Exception {
        byte[] plain = new byte[20000 + seed * 100];
        for (int i = 0; i < plain.length; i++) {
            plain[i] = (byte) (i * seed >> 3);
        }
        Deflater deflater = new Deflater(6);
        deflater.setInput(plain);
        deflater.finish();
        byte[] packed = new byte[plain.length + 100];
        int length = deflater.deflate(packed);
        deflater.end();
        ByteBuffer direct = ByteBuffer.allocateDirect(length);
        direct.put(packed, 0, length).flip();
        Inflater inflater = new Inflater();
        inflater.setInput(direct);
        byte[] again = new byte[plain.length];
        inflater.inflate(again);
        inflater.end();
        CRC32 sum = new CRC32();
        sum.update(again);
        sum.update(packed, 0, length);
        return sum.getValue();
    }

    static void work(int seed) {
        try {
            long wanted = round(seed);
            while (!over) {
                if (round(seed) != wanted) {
                    System.out.println("another result");
                    Runtime.getRuntime().halt(3);
                }
                if (rounds.incrementAndGet() % 500 == 0) {
                    Thread one = new Thread(() -> rounds.incrementAndGet());
                    one.start();
                    one.join();
                }
            }
        } catch (Exception error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(4);
        }
    }

    public static void main(String[] words) throws Exception {
        Thread[] threads = new Thread[Integer.parseInt(words[0])];
        for (int i = 0; i < threads.length; i++) {
            int seed = i + 1;
            threads[i] = new Thread(() -> work(seed));
            threads[i].start();
        }
        System.out.println("ready");
        System.in.read();
        System.out.println("rounds " + rounds.get());
        System.in.read();
        over = true;
        for (Thread one : threads) {
            one.join();
        }
        System.out.println("rounds " + rounds.get());
    }
}
