% SPDX-License-Identifier: MIT
% Matrices, strings, cells and structures; each round prints what it made.
rounds = str2double(argv(){end});
rand("twister", 7);
for round = 1:rounds
  a = rand(220);
  b = a' * a + eye(220);
  x = b \ a(:, 1);
  printf("%.6f %.6f\n", sum(x), norm(chol(b) - triu(chol(b))));
  words = cell(1, 3000);
  for i = 1:3000
    words{i} = sprintf("word%d", mod(i * 7919, 977));
  end
  [names, ~, at] = unique(words);
  printf("%d %d\n", numel(names), max(accumarray(at(:), 1)));
  s = struct();
  for i = 1:numel(names)
    s.(names{i}) = repmat(i, 1, mod(i, 17));
  end
  printf("%d\n", sum(structfun(@numel, s)));
  text = strjoin(words, " ");
  parts = strsplit(regexprep(text, 'word(\d)', 'w$1_'), " ");
  printf("%d %s\n", numel(parts), parts{end});
  l = cellfun(@(w) [w "!"], words, "UniformOutput", false);
  printf("%d\n", numel(strjoin(sort(l), "")));
  f = real(ifft(fft(a) .* 2));
  printf("%.6f\n", sum(f(:)) - 2 * sum(a(:)));
end
