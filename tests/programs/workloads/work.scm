;; SPDX-License-Identifier: MIT
;; Hash tables, strings, ports, bignums and sorts; each round prints what it made.
(use-modules (srfi srfi-1) (srfi srfi-13) (ice-9 regex) (ice-9 format))

(define (factorial n) (let loop ((i 1) (product 1)) (if (> i n) product (loop (+ i 1) (* product i)))))

(define (tables seed)
  (let ((table (make-hash-table)))
    (let loop ((i 0) (seed seed))
      (when (< i 30000)
        (let ((next (modulo (+ (* seed 1103515245) 12345) 2147483648)) (key #f))
          (set! key (string-append "key" (number->string (modulo next 2003))))
          (hash-set! table key (cons i (hash-ref table key '())))
          (loop (+ i 1) next))))
    (sort (hash-map->list (lambda (key list) (cons (length list) key)) table)
          (lambda (a b) (or (> (car a) (car b)) (and (= (car a) (car b)) (string<? (cdr a) (cdr b))))))))

(define (strings)
  (let* ((words (map (lambda (i) (format #f "name-~a:~a" (modulo (* i 7919) 9973) i)) (iota 2500)))
         (text (string-join words " "))
         (out (call-with-output-string (lambda (port) (for-each (lambda (one) (write (string-upcase one) port)) words)))))
    (list (string-length out) (length (list-matches "name-[0-9]+5:" text)))))

(let loop ((round (string->number (cadr (command-line)))))
  (when (> round 0)
    (write (list-head (tables round) 3)) (newline)
    (write (strings)) (newline)
    (write (modulo (factorial 3000) 1000003)) (newline)
    (write (string-length (number->string (expt 7 20000)))) (newline)
    (loop (- round 1))))
