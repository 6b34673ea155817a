// Frames of JSON over one descriptor: four bytes of length, then UTF-8; reading waits until a frame is there.

import { readSync, writeSync } from "node:fs";

const { parse } = JSON;
const { allocUnsafe, from } = Buffer;
const { apply } = Reflect;
const { utf8Slice, readUInt32BE, writeUInt32BE } = Buffer.prototype;
export const MOST = 64 << 20; // bytes of one frame

export class Closed extends Error {}
export class TooLarge extends Error {}

export class Channel {
  #descriptor;
  #length = allocUnsafe(4);
  bytes = 0; // that went either way

  constructor(descriptor) {
    this.#descriptor = descriptor;
  }

  /** Write one frame; `text` is JSON. */
  send(text) {
    const body = from(text);
    if (body.length > MOST) {
      throw new TooLarge();
    }
    const head = allocUnsafe(4);
    apply(writeUInt32BE, head, [body.length]);
    this.#write(head);
    this.#write(body);
    this.bytes += body.length;
  }

  /** The next frame, parsed; throws `Closed` at the end. */
  receive() {
    this.#fill(this.#length);
    const size = apply(readUInt32BE, this.#length, []);
    if (size > MOST) {
      throw new TooLarge();
    }
    const body = allocUnsafe(size);
    this.bytes += size;
    this.#fill(body);
    return parse(apply(utf8Slice, body, [0, size]));
  }

  #write(bytes) {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#descriptor, bytes, done, bytes.length - done);
    }
  }

  #fill(bytes) {
    for (let done = 0; done < bytes.length; ) {
      const count = readSync(this.#descriptor, bytes, done, bytes.length - done, null);
      if (count === 0) {
        throw new Closed();
      }
      done += count;
    }
  }
}
