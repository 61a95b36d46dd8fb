import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import sharp from 'sharp'
import type { Json } from '../support/client.ts'
import { temporaryFolder } from '../support/process.ts'
import { startService, type TestService } from '../support/service.ts'
import { fetched, upload } from './support.ts'

const has = (program: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`])
    return true
  } catch {
    return false
  }
}
const withFilms = { skip: !(has('ffmpeg') && has('ffprobe')) && 'there is no ffmpeg here' }
const withDocuments = { skip: !has('soffice') && 'there is no LibreOffice here' }

suite('films, sounds and documents', () => {
  let svc: TestService
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  before(async () => {
    folder = await temporaryFolder()
    svc = await startService({ ffmpeg: 'ffmpeg', ffprobe: 'ffprobe', soffice: 'soffice' })
    const small = { name: 'small', size: 100, priority: 0 }
    const recipes = {
      video: [small, { name: 'web', recipe: 'video', size: 90 }, { name: 'large', recipe: 'video', size_minimum: 720 }],
      audio: [small, { name: 'aac', recipe: 'audio' }],
    }
    for (const [kind, rows] of Object.entries(recipes)) {
      const path = `/config/system/config/produce_config/value/classes/${kind}/versions`
      assert.equal((await svc.as('root').post(path, rows as Json)).status, 200)
    }
  })
  after(async () => {
    await svc[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  /** A file made by ffmpeg from what it draws and sounds by itself. */
  async function media(name: string, ...args: string[]): Promise<Buffer> {
    const path = join(folder.path, name)
    await promisify(execFile)('ffmpeg', ['-v', 'error', '-y', ...args, path])
    return readFile(path)
  }
  const drawn = (filter: string) => ['-f', 'lavfi', '-i', filter]
  /** Red on the left, blue on the right. */
  const halves = (width: number, height: number) =>
    drawn(`color=red:s=${width}x${height}:d=1:r=5,drawbox=x=iw/2:w=iw:h=ih:color=blue:t=fill`)
  const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac']

  async function produced(...files: [name: string, content: Buffer][]): Promise<Json[]> {
    const sent = files.map(([name, content]) => ({ name, content }))
    const { status, body } = await upload(svc, 'root', sent, { produce_versions: 'true' })
    assert.equal(status, 200, JSON.stringify(body))
    await svc.drain()
    return Promise.all(body.map(async ({ _id }: Json) => (await svc.as('root').get(`/eas/${_id}`)).body))
  }

  /** Colours of a rendition at places, as parts of width and height. */
  async function colours({ url }: Json, ...places: [number, number][]): Promise<string[]> {
    const { content } = await fetched(svc, url)
    const { data, info } = await sharp(content)
      .flatten({ background: 'white' })
      .raw()
      .toBuffer({ resolveWithObject: true })
    return places.map(([x, y]) => {
      const at = info.channels * (Math.floor(y * info.height) * info.width + Math.floor(x * info.width))
      const [red = 0, green = 0, blue = 0] = data.subarray(at, at + 3)
      if (red > 200 && green > 200 && blue > 200) return 'white'
      return red > 150 && blue < 90 ? 'red' : blue > 150 && red < 90 ? 'blue' : `${red},${green},${blue}`
    })
  }

  const shape = ({ status, extension, width, height }: Json) => [status, extension, width, height]

  test(
    'films have posters and films for browsers, turned as the camera was held, with even sides',
    withFilms,
    async () => {
      const sound = drawn('sine=440:d=1')
      const [plain, turned, silent, wide] = await produced(
        ['plain.mp4', await media('plain.mp4', ...halves(320, 180), ...sound, ...h264)],
        ['turned.mp4', turnedFilm(await media('turned.mp4', ...halves(320, 180), ...h264))],
        ['odd.mkv', await media('odd.mkv', ...halves(161, 91), '-c:v', 'ffv1')],
        ['wide.mp4', await media('wide.mp4', ...halves(120, 90), '-vf', 'setsar=4/3', ...h264)],
      )
      assert.deepEqual(
        [shape(plain.versions.small), shape(plain.versions.web), plain.versions.large],
        [['done', 'jpg', '100', '56'], ['done', 'mp4', '160', '90'], undefined],
      )
      assert.deepEqual(await colours(plain.versions.small, [0.2, 0.5], [0.8, 0.5]), ['red', 'blue'])
      const { technical_metadata: known } = plain
      assert.deepEqual([known.width, known.height, known.format], [320, 180, 'landscape'])
      assert.ok(Math.abs(known.duration - 1) < 0.2, `${known.duration}`)
      assert.deepEqual([known.audio_codec.length, known.video_codec.length], [1, 1])
      assert.match(known.blurhash, /^.{28,34}$/)
      // Turned by a quarter: what was on the left is at the top.
      assert.deepEqual([turned.technical_metadata.width, turned.technical_metadata.height], [180, 320])
      assert.deepEqual(shape(turned.versions.small), ['done', 'jpg', '56', '100'])
      assert.deepEqual(shape(turned.versions.web), ['done', 'mp4', '50', '90'])
      assert.deepEqual(await colours(turned.versions.small, [0.5, 0.2], [0.5, 0.8]), ['red', 'blue'])
      assert.deepEqual(shape(silent.versions.web), ['done', 'mp4', '160', '90'])
      // Pixels that are wider than high become square.
      assert.deepEqual(shape(wide.versions.web), ['done', 'mp4', '160', '90'])
      const { content, headers } = await fetched(svc, plain.versions.web.url)
      assert.equal(headers['content-type'], 'video/mp4')
      // Plays before all of it has come.
      assert.ok(content.indexOf('moov') < content.indexOf('mdat'))
    },
  )

  test('sounds have their cover or their waves, and become sound for browsers', withFilms, async () => {
    await sharp({ create: { width: 300, height: 300, channels: 3, background: 'red' } })
      .png()
      .toFile(join(folder.path, 'cover.png'))
    const carried = ['-i', join(folder.path, 'cover.png'), '-map', '0', '-map', '1', '-disposition:v:0', 'attached_pic']
    const [cover, waves, noFilm] = await produced(
      ['cover.mp3', await media('cover.mp3', ...drawn('sine=440:d=1'), ...carried)],
      ['waves.wav', await media('waves.wav', ...drawn('sine=440:d=1'))],
      ['sound.mp4', await media('sound.mp4', ...drawn('sine=440:d=1'), '-c:a', 'aac')],
    )
    assert.deepEqual(await colours(cover.versions.small, [0.5, 0.5]), ['red'])
    assert.deepEqual(shape(waves.versions.small), ['done', 'jpg', '100', '38'])
    assert.deepEqual(await colours(waves.versions.small, [0.5, 0.02]), ['white'])
    // A sound is not as wide as its cover.
    for (const { technical_metadata, versions } of [cover, waves]) {
      assert.equal(technical_metadata.width, undefined)
      assert.ok(Math.abs(technical_metadata.duration - 1) < 0.2)
      assert.deepEqual([versions.aac.status, versions.aac.extension], ['done', 'm4a'])
    }
    assert.equal(noFilm.versions.small.status, 'failed')
    assert.match(noFilm.versions.small.reason, /ffmpeg|frame/)
  })

  test('lists of other files are no films: nothing is read but what was uploaded', withFilms, async () => {
    const film = await media('secret.ts', ...halves(64, 64), '-c:v', 'mpeg2video', '-f', 'mpegts')
    assert.ok(film.length > 0)
    const secret = `file://${join(folder.path, 'secret.ts')}`
    const lists = [
      `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:1,\n${secret}\n#EXT-X-ENDLIST\n`,
      `ffconcat version 1.0\nfile '${secret}'\n`,
      'v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n',
    ]
    const records = await produced(...lists.map((text, index): [string, Buffer] => [`${index}.ts`, Buffer.from(text)]))
    for (const { versions, class: kind } of records) {
      assert.deepEqual([kind, versions.small.status, versions.web.status], ['video', 'failed', 'failed'])
      assert.doesNotMatch(versions.small.reason, /secret/)
    }
  })

  test(
    'documents become PDF and pictures of their first page; they fetch nothing and take in no other file',
    withDocuments,
    async () => {
      let asked = 0
      const server = createServer((_request, response) => {
        asked++
        response.end()
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      const red = join(folder.path, 'red.png')
      await sharp({ create: { width: 400, height: 400, channels: 3, background: 'red' } })
        .png()
        .toFile(red)
      try {
        const [record] = await produced(['letter.odt', letter([`http://127.0.0.1:${port}/a.png`, `file://${red}`])])
        const { pdf, small, preview } = record.versions
        assert.deepEqual([pdf.status, pdf.extension, small.status, preview.height], ['done', 'pdf', 'done', '1000'])
        assert.equal(record.technical_metadata.pages, 1)
        assert.equal((await fetched(svc, pdf.url)).content.toString('latin1', 0, 5), '%PDF-')
        const { data, info } = await sharp((await fetched(svc, preview.url)).content)
          .raw()
          .toBuffer({ resolveWithObject: true })
        let redPixels = 0
        for (let at = 0; at < data.length; at += info.channels) {
          if ((data[at] as number) > 200 && (data[at + 1] as number) < 60) redPixels++
        }
        assert.equal(redPixels, 0)
        assert.equal(asked, 0)
      } finally {
        server.close()
      }
    },
  )
})

/** The same film, to be turned by a quarter clockwise. */
function turnedFilm(film: Buffer): Buffer {
  // Of the box `tkhd`, behind its type: 40 bytes, then the matrix.
  const at = film.indexOf('tkhd') + 4 + 40
  for (const [index, value] of [0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000].entries()) {
    film.writeInt32BE(value, at + 4 * index)
  }
  return film
}

/** A letter with pictures that lie elsewhere. */
function letter(pictures: readonly string[]): Buffer {
  const frames = pictures.map(
    (href) =>
      `<draw:frame svg:width="8cm" svg:height="8cm" text:anchor-type="as-char"><draw:image xlink:href="${href}" xlink:type="simple"/></draw:frame>`,
  )
  const names = ['office', 'text'].map((name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
  return zip({
    mimetype: 'application/vnd.oasis.opendocument.text',
    'META-INF/manifest.xml':
      '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">' +
      '<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.text"/>' +
      '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>',
    'content.xml':
      `<office:document-content ${names.join(' ')} xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" ` +
      'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" ' +
      `office:version="1.2"><office:body><office:text><text:p>Dear visitor ${frames.join('')}</text:p></office:text></office:body></office:document-content>`,
  })
}

/** An archive of texts, not compressed. */
function zip(files: Record<string, string>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  for (const [name, text] of Object.entries(files)) {
    const content = Buffer.from(text)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(content.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(name.length, 22)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(Buffer.concat(parts).length, 10)
    parts.push(Buffer.from('PK\x03\x04'), common, Buffer.from(name), content)
    directory.push(Buffer.from('PK\x01\x02\x14\0'), common, rest, Buffer.from(name))
  }
  const [body, index] = [Buffer.concat(parts), Buffer.concat(directory)]
  const end = Buffer.alloc(18)
  const count = Object.keys(files).length
  end.writeUInt16LE(count, 4)
  end.writeUInt16LE(count, 6)
  end.writeUInt32LE(index.length, 8)
  end.writeUInt32LE(body.length, 12)
  return Buffer.concat([body, index, Buffer.from('PK\x05\x06'), end])
}
