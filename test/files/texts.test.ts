import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { CannotMake } from '../../src/files/renditions/workshop/failure.ts'
import { createWorkers, type Workers } from '../../src/files/renditions/workshop/workers.ts'
import { textHandlers } from '../../src/files/renditions/workshop/xml-text.ts'
import { createXmlReader } from '../../src/platform/xml/reader.ts'
import { temporaryFolder } from '../support/process.ts'
import { documents, pdf, zip } from './documents.ts'

suite('texts of documents', () => {
  let workers: Workers
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  before(async () => {
    folder = await temporaryFolder()
    const limits = { memory: 1_000_000_000, seconds: 60, drawingSeconds: 5, pixels: 1_000_000, output: 1_000_000 }
    workers = createWorkers({ most: 1, limits, background: true, place: folder.path })
  })
  after(async () => {
    await workers.close()
    await folder[Symbol.asyncDispose]()
  })

  async function textOf(name: string, content: Buffer, most = 10_000) {
    const path = join(folder.path, name)
    await writeFile(path, content)
    return workers.run({ kind: 'text', source: { path, extension: name.split('.').at(-1) ?? '' }, most })
  }

  const words = (text: string): string[] => text.split(/\s+/)

  test('docx, odt, xlsx, pptx, odp: what is written in them, in order', async () => {
    for (const [extension, content] of Object.entries(documents(['First line', 'Größe & <Maß>', 'third']))) {
      const { text, cut } = await textOf(`a.${extension}`, content)
      assert.deepEqual(words(text), ['First', 'line', 'Größe', '&', '<Maß>', 'third'], extension)
      assert.equal(cut, false)
      if (extension !== 'xlsx') assert.ok(text.includes('line\nGröße'), extension)
    }
  })

  test('PDF: the text of its pages, and how many there are', async () => {
    const { text, pages } = await textOf('a.pdf', pdf(['Hello pages', 'second one']))
    assert.deepEqual([words(text), pages], [['Hello', 'pages', 'second', 'one'], 2])
  })

  test('plain text in its usual forms', async () => {
    assert.equal((await textOf('a.txt', Buffer.from('Grüße,\r\n\r\n  Welt\0'))).text, 'Grüße,\nWelt')
    assert.equal((await textOf('b.txt', Buffer.from('Gr\xfc\xdfe', 'latin1'))).text, 'Grüße')
    assert.equal((await textOf('c.txt', Buffer.from('\ufeffGrüße', 'utf16le'))).text, 'Grüße')
  })

  test('a text has a limit, in the middle of whatever it is', async () => {
    const { text, cut } = await textOf('a.txt', Buffer.from('ab'.repeat(500)), 100)
    assert.deepEqual([text.length, cut], [100, true])
    const bomb = zip({ 'word/document.xml': `<w:p><w:t>${'x'.repeat(50_000_000)}</w:t></w:p>` })
    assert.ok(bomb.length < 100_000)
    assert.deepEqual((await textOf('bomb.docx', bomb, 100)).text.length, 100)
  })

  test('what a document declares itself is neither read nor multiplied', async () => {
    const declared =
      '<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]>' +
      '<w:p><w:t>one &a;&c;two</w:t></w:p>'
    const other = '<w:p><w:t>three</w:t></w:p>'
    const parts = { 'word/document.xml': declared, 'word/footnotes.xml': other }
    assert.deepEqual((await textOf('a.docx', zip(parts))).text.trim(), 'three')
  })

  test('of a part that breaks off, what stands before is text', async () => {
    const parts = {
      'word/document.xml': '<d><w:p><w:t>one</w:t></w:p><w:p></d>',
      'word/footnotes.xml': '<w:t>two</w:t>',
    }
    assert.deepEqual(words((await textOf('a.docx', zip(parts))).text), ['one', 'two'])
  })

  test('what is broken says so, and the next is read', async () => {
    const broken: Record<string, Buffer> = {
      'a.docx': Buffer.from('PK nothing of the kind'),
      'b.docx': documents(['x']).docx.subarray(0, 200),
      'c.pdf': Buffer.from('%PDF-1.7 and no more'),
    }
    for (const [name, content] of Object.entries(broken)) {
      await assert.rejects(textOf(name, content), (error: unknown) => error instanceof CannotMake, name)
    }
    assert.equal((await textOf('d.txt', Buffer.from('fine'))).text, 'fine')
  })

  test('XML in pieces of any size is the same text', () => {
    const xml = `<?xml version="1.0"?><!-- <t>no</t> --><d a="&lt;t>"><t>A &amp; B &#x41;</t> out <t><![CDATA[<c>]]></t></d>`
    for (let size = 1; size <= xml.length; size++) {
      let text = ''
      const handlers = textHandlers({ text: new Set(['t']), breaks: new Set(['t']) }, (piece) => {
        text += piece
      })
      const reader = createXmlReader(handlers)
      for (let at = 0; at < xml.length; at += size) reader.write(xml.slice(at, at + size))
      reader.end()
      assert.equal(text, 'A & B A\n<c>\n', `pieces of ${size}`)
    }
  })
})
