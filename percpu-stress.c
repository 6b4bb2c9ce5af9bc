#define _GNU_SOURCE
#include <malloc.h>
#include <stdatomic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static _Atomic(uint64_t*) box[4096]; static volatile int stop; static _Atomic long bad, ops, sigs;
static void check(uint64_t*p){ if(!p)return; uint64_t n=p[0]; if(n<16||n>9000||p[1]!=(uint64_t)p*31||*(uint64_t*)((char*)p+n-8)!=(n==16?p[1]:(uint64_t)p*17)) bad++; p[1]=0; }
static uint64_t*make(unsigned r){ size_t n=(16+(r%((r&0x700)?400:9000-16)))&~7ul; if(n<16)n=16; uint64_t*p=malloc(n); p[0]=n;p[1]=(uint64_t)p*31; if(n>16)*(uint64_t*)((char*)p+n-8)=(uint64_t)p*17; return p; }
static void handler(int s){ void*p=malloc(48); free(p); sigs++; }
static void*run(void*v){ unsigned s=(long)v*77+1; while(!stop){ for(int i=0;i<500;i++){ s=s*1664525+1013904223; uint64_t*p=make(s>>7); p=atomic_exchange(&box[(s>>9)%4096],p); if(p){check(p);free(p);} ops++; }
  if((s>>20)%16==0){cpu_set_t c;CPU_ZERO(&c);CPU_SET((s>>10)%2,&c);if((s>>11)&1)CPU_SET(1-(s>>10)%2,&c);sched_setaffinity(0,sizeof c,&c);} } return 0;}
int main(int c,char**a){ int n=c>1?atoi(a[1]):16,sec=c>2?atoi(a[2]):5; signal(SIGALRM,handler); struct itimerval it={{0,500},{0,500}}; setitimer(ITIMER_REAL,&it,0); pthread_t t[256]; for(long i=0;i<n;i++)pthread_create(&t[i],0,run,(void*)i);
 for(int k=0;k<sec*20;k++){ usleep(50000); malloc_trim(0); if(k%10==0){ pid_t p=fork(); if(!p){ signal(SIGALRM,SIG_IGN); for(int i=0;i<2000;i++){uint64_t*q=make(i*7919);check(q);free(q);} _exit(bad!=0);} int st; while(waitpid(p,&st,0)<0); if(st)bad++; } }
 stop=1; it.it_value.tv_usec=it.it_interval.tv_usec=0; setitimer(ITIMER_REAL,&it,0); for(int i=0;i<n;i++)pthread_join(t[i],0); fprintf(stderr,"ops %ld bad %ld signals %ld\n",ops,bad,sigs); return bad!=0; }
