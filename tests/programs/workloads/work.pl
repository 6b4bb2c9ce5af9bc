# SPDX-License-Identifier: MIT
# What Perl programs do with memory; prints one checksum per round.
use strict;
use warnings;

my $state = 12345;
sub chance { $state = ($state * 1103515245 + 12345) % 2147483648; return int($state / 65536) % $_[0]; }

sub round {
    my %table;
    for my $number (1 .. 60000) {
        push @{ $table{ "key-" . chance(5000) } }, { n => $number, text => "x" x chance(60) };
    }
    delete $table{$_} for grep { /7$/ } keys %table;
    my @lines;
    for my $key (sort keys %table) {
        push @lines, $key . ":" . join(",", map { $_->{n} . $_->{text} } @{ $table{$key} });
    }
    my $text = join("\n", @lines);
    $text =~ s/(\d+)x+/<$1>/g;
    my @actions = map { my $held = $_; sub { return length($held) } } split /\n/, $text;
    my $sum = 0;
    $sum = ($sum * 31 + $_->()) % 1000000007 for @actions;
    my @sorted = sort { $b cmp $a } split /[,:]/, $text;
    return sprintf("%d %d %s", $sum, scalar(@sorted), $sorted[1000]);
}

for my $number (1 .. $ARGV[0]) {
    print round(), "\n";
}
$| = 1;
my $child = fork();
if ($child == 0) {
    print "child: ", round(), "\n";
    exit 0;
}
waitpid($child, 0);
print "parent: ", round(), " child status $?\n";
