/* Loaded into an agent before its own libraries: of every thousand messages of a stream, sendmmsg
 * takes one as sent that it never hands to the system. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>

enum { EVERY = 1000, MARK = 0xE3, KIND = 0x0F, STREAM = 0 };

static unsigned long taken;

static int is_stream(const struct mmsghdr *message) {
  const struct msghdr *header = &message->msg_hdr;
  if (header->msg_iovlen == 0 || header->msg_iov[0].iov_len < 2) return 0;
  const unsigned char *octets = header->msg_iov[0].iov_base;
  return octets[0] == MARK && (octets[1] & KIND) == STREAM;
}

int sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags) {
  int (*real)(int, struct mmsghdr *, unsigned int, int) = dlsym(RTLD_NEXT, "sendmmsg");
  if (count == 0 || !is_stream(messages)) return real(socket, messages, count, flags);
  unsigned int before = (unsigned int)((EVERY - 1) - taken % EVERY);
  if (before == 0) {
    taken += 1;
    messages[0].msg_len = (unsigned int)messages[0].msg_hdr.msg_iov[0].iov_len;
    return 1;
  }
  int sent = real(socket, messages, count < before ? count : before, flags);
  if (sent > 0) taken += (unsigned long)sent;
  return sent;
}
