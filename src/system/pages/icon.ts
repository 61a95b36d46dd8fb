/** The icon that browsers show beside the name of a page: a drawer of a strongroom. */
export const iconSvg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#1f5fae"/><g fill="none" stroke="#fff" stroke-width="2.4"><rect x="6.2" y="6.2" width="19.6" height="8.6" rx="1.6"/><rect x="6.2" y="17.2" width="19.6" height="8.6" rx="1.6"/><path d="M13 10.5h6M13 21.5h6"/></g></svg>\n`

/** The same as an icon file with one PNG of 32 pixels, for programs that ask for `/favicon.ico`. */
export async function iconFile(): Promise<Buffer> {
  // Few clients ask for it, and the library is large.
  const { default: sharp } = await import('sharp')
  const png = await sharp(Buffer.from(iconSvg)).resize(32, 32).png().toBuffer()
  // ICONDIR with one ICONDIRENTRY, which may contain a PNG as it is.
  const head = Buffer.alloc(22)
  head.writeUInt16LE(1, 2)
  head.writeUInt16LE(1, 4)
  head.writeUInt8(32, 6)
  head.writeUInt8(32, 7)
  head.writeUInt16LE(1, 10)
  head.writeUInt16LE(32, 12)
  head.writeUInt32LE(png.length, 14)
  head.writeUInt32LE(head.length, 18)
  return Buffer.concat([head, png])
}
