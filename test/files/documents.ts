/** Small documents of every kind that has a text, made here. */
import { crc32, deflateRawSync } from 'node:zlib'

/** An archive with these entries, deflated or as they are. */
export function zip(entries: Readonly<Record<string, string | Buffer>>, { plain = false } = {}): Buffer {
  const parts: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const [name, given] of Object.entries(entries)) {
    const content = Buffer.from(given)
    const packed = plain ? content : deflateRawSync(content)
    const path = Buffer.from(name)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    // The names are UTF-8.
    common.writeUInt16LE(0x800, 2)
    common.writeUInt16LE(plain ? 0 : 8, 4)
    common.writeUInt16LE(0x5a21, 8)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(path.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, path, packed])
    const more = Buffer.alloc(14)
    more.writeUInt32LE(offset, 10)
    central.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), common, more, path]))
    parts.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(parts.length, 8)
  end.writeUInt16LE(parts.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, directory, end])
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Documents that have these lines, by extension. */
export function documents(lines: readonly string[]): Record<'docx' | 'odt' | 'odp' | 'xlsx' | 'pptx', Buffer> {
  const each = (write: (line: string) => string): string => lines.map((line) => write(escaped(line))).join('')
  const slides = lines.map((line, index) => [
    `ppt/slides/slide${index + 1}.xml`,
    `<p:sld><a:p><a:r><a:t>${escaped(line)}</a:t></a:r></a:p></p:sld>`,
  ])
  const open = (type: string): Buffer =>
    zip({
      mimetype: `application/vnd.oasis.opendocument.${type}`,
      'content.xml': `<office:body>${each((line) => `<text:p>${line}</text:p>`)}</office:body>`,
    })
  const content = { '[Content_Types].xml': '<Types/>' }
  return {
    docx: zip({
      ...content,
      'word/document.xml': `<w:body>${each((line) => `<w:p><w:r><w:t>${line}</w:t></w:r></w:p>`)}</w:body>`,
    }),
    odt: open('text'),
    odp: open('presentation'),
    xlsx: zip({ ...content, 'xl/sharedStrings.xml': `<sst>${each((line) => `<si><t>${line}</t></si>`)}</sst>` }),
    pptx: zip({ ...content, ...Object.fromEntries(slides) }),
  }
}

/** A PDF with one line on each page. */
export function pdf(lines: readonly string[]): Buffer {
  const objects = ['<</Type/Catalog/Pages 2 0 R>>', '']
  const kids: string[] = []
  for (const line of lines) {
    const stream = `BT /F1 24 Tf 72 720 Td (${line}) Tj ET`
    objects.push(`<</Length ${stream.length}>>\nstream\n${stream}\nendstream`)
    objects.push(
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents ${objects.length} 0 R` +
        '/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>',
    )
    kids.push(`${objects.length} 0 R`)
  }
  objects[1] = `<</Type/Pages/Kids[${kids.join(' ')}]/Count ${kids.length}>>`
  let text = '%PDF-1.4\n'
  const offsets: number[] = []
  for (const [index, object] of objects.entries()) {
    offsets.push(text.length)
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
  }
  const start = text.length
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  text += `xref\n0 ${offsets.length + 1}\n0000000000 65535 f \n${table}`
  return Buffer.from(`${text}trailer\n<</Size ${offsets.length + 1}/Root 1 0 R>>\nstartxref\n${start}\n%%EOF\n`)
}
