#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static unsigned long rss(void){FILE*f=fopen("/proc/self/statm","r");unsigned long a,b;fscanf(f,"%lu %lu",&a,&b);fclose(f);return b*4;}
static pthread_barrier_t b1;
static void*run(void*v){unsigned s=(unsigned)(long)v*7919+1;void*o[600];for(int r=0;r<20;r++){for(int i=0;i<600;i++){s=s*1664525+1013904223;o[i]=malloc(1+(s>>8)%2000);memset(o[i],1,8);}for(int i=0;i<600;i++)free(o[i]);}pthread_barrier_wait(&b1);sleep(60);return 0;}
int main(){enum{N=500};pthread_attr_t a;pthread_attr_init(&a);pthread_attr_setstacksize(&a,128<<10);pthread_barrier_init(&b1,0,N+1);unsigned long r0=rss();pthread_t t;for(long i=0;i<N;i++)pthread_create(&t,&a,run,(void*)i);pthread_barrier_wait(&b1);sleep(4);printf("%lu KiB each after 4 s\n",(rss()-r0)/N);fflush(stdout);_exit(0);}
