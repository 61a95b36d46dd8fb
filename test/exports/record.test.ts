import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'
import { addUser, addWorks, allWorks, codeOf, draft, exported, fetchedFile, picture, ran, saved } from './support.ts'

suite('the record of an export', () => {
  let museum: Museum
  before(async () => {
    museum = await startMuseum({ quotaExportRuns: 1 })
    await addWorks(museum, ['a', 'b', 'c'], 1)
    await addUser(museum.svc, 'ann')
    await addUser(museum.svc, 'bob')
  })
  after(() => museum[Symbol.asyncDispose]())

  const root = () => museum.svc.as('root')
  const refused = async (more: Json, rest: Json = {}) => {
    const answer = await root().post('/export', draft(more, rest))
    assert.equal(answer.body?.statuscode, 400, JSON.stringify([more, answer.body]))
    return answer.body
  }
  /** What is answered of an export with these settings, to those who saved it and to those who read it. */
  const kept = async (more: Json) => {
    const first = await saved(museum.svc, 'root', draft(more))
    const { body } = await root().get(`/export/${first.export._id}`)
    assert.deepEqual(body.export, first.export)
    return body.export
  }

  test('EXP-001 is a wrapper with its block and system fields beside it, for POST, PUT and GET', async () => {
    for (const method of ['post', 'put'] as const) {
      const sent = draft()
      const { status, body } = await root()[method]('/export', sent)
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body._basetype, 'export')
      assert.equal(body.export.name, sent.export.name)
      assert.equal(body._state, 'new')
      const read = await root().get(`/export/${body.export._id}`)
      assert.deepEqual([read.body._basetype, read.body.export, read.body._state], ['export', body.export, 'new'])
    }
  })

  test('EXP-002 EXP-013 EXP-018 numbers are numbers, and switches switches', async () => {
    const { export: first } = await saved(museum.svc, 'root', draft())
    assert.ok(Number.isInteger(first._id) && first._id > 0)
    assert.equal(first._version, 1)
    const { body } = await root().post(`/export/${first._id}`, draft({ _id: first._id, _version: 1 }))
    assert.equal(body.export._version, 2)
    const flags = ['include_parents', 'all_languages', 'file_metadata', 'no_inheritance', 'flat', 'filename_original']
    for (const name of flags) {
      for (const value of [true, false]) assert.equal((await kept({ [name]: value }))[name], value)
      await refused({ [name]: 'yes' })
    }
    assert.deepEqual((await kept({ assets: { '1': true, '2': false } })).assets, { '1': true, '2': false })
    for (const assets of [{ one: true }, { '1': 'yes' }, [true]]) await refused({ assets })
  })

  test('EXP-003 has one of three types', async () => {
    for (const type of ['export', 'export_incremental', 'download']) assert.equal((await kept({ type })).type, type)
    for (const type of ['', 'Export', 'backup', undefined, null, 1]) await refused({ type })
  })

  test('EXP-004 ERR-016 EXPAPI-012 has a name that its user has once', async () => {
    const { body: first } = await museum.svc.as('ann').post('/export', draft({ name: 'mine' }))
    for (const method of ['post', 'put'] as const) {
      const answer = await museum.svc.as('ann')[method]('/export', draft({ name: 'mine' }))
      assert.deepEqual(codeOf(answer), [400, 'ExportDuplicateName'])
    }
    assert.equal((await museum.svc.as('bob').post('/export', draft({ name: 'mine' }))).status, 200)
    const { body: other } = await museum.svc.as('ann').post('/export', draft({ name: 'other' }))
    const { _id, _version } = other.export
    const renamed = await museum.svc.as('ann').post(`/export/${_id}`, draft({ _id, _version, name: 'mine' }))
    assert.deepEqual(codeOf(renamed), [400, 'ExportDuplicateName'])
    const same = await museum.svc
      .as('ann')
      .post(`/export/${first.export._id}`, draft({ _id: first.export._id, _version: 1, name: 'mine' }))
    assert.equal(same.status, 200)
    assert.equal((await museum.svc.as('ann').get('/export')).body.count, 2)
  })

  test('EXP-005 EXPAPI-009 needs a search that compiles, a known type and a known mapping', async () => {
    const search = {
      objecttypes: ['work'],
      search: [{ type: 'match', mode: 'fulltext', string: 'a' }],
      sort: [{ field: '_system_object_id' }],
    }
    assert.deepEqual((await kept({ search })).search, search)
    for (const method of ['post', 'put'] as const) {
      for (const wrong of [
        { search: undefined },
        { search: null },
        { search: 'all' },
        { search: { search: [{ type: 'nothing' }] } },
        { search: { objecttypes: ['nothing'] } },
        { search: { type: 'user' } },
        { type: 'nothing' },
        { mapping: 'nothing' },
        { mapping: 4711 },
      ]) {
        const { status, body } = await root()[method]('/export', draft(wrong))
        assert.equal(status, 400, JSON.stringify([wrong, body]))
      }
    }
  })

  test('EXP-006 names fields that there are, as deep as links are followed', async () => {
    const fields = {
      'work.title': { display_name: 'Title' },
      'work._nested:work__material.name': { display_name: 'M' },
      _tags: {},
    }
    assert.deepEqual((await kept({ fields })).fields, fields)
    const deep = { 'work.creator.person.name': { display_name: 'By' } }
    await refused({ fields: deep })
    await refused({ fields: deep, merge_linked_objects: 'all', merge_max_depth: 0 })
    assert.deepEqual((await kept({ fields: deep, merge_linked_objects: 'all', merge_max_depth: 1 })).fields, deep)
    for (const name of [
      'work.nothing',
      'nothing',
      'work.title.more',
      'work.creator.place.name',
      'work._nested:nothing.name',
      '__proto__',
    ]) {
      await refused({ fields: JSON.parse(`{${JSON.stringify(name)}: {}}`) })
    }
    await refused({ fields: { 'work.title': { display_name: 1 } } })
  })

  test('EXP-007 says of columns of files what is exported of them', async () => {
    const eas_fields = {
      'work.image': {
        files: true,
        include_non_preferred: false,
        data: [
          { type: 'original', format: 'long' },
          { type: 'version', format: 'short', version: 'image.small' },
        ],
      },
    }
    assert.deepEqual((await kept({ eas_fields })).eas_fields, eas_fields)
    for (const wrong of [
      { 'work.title': { files: true } },
      { nothing: {} },
      { 'work.image': { files: 'all' } },
      { 'work.image': { include_non_preferred: 1 } },
      { 'work.image': { data: [{ type: 'all', format: 'long' }] } },
      { 'work.image': { data: [{ type: 'original', format: 'huge' }] } },
      { 'work.image': { data: [{ type: 'version', format: 'long' }] } },
    ]) {
      await refused({ eas_fields: wrong })
    }
  })

  const custom = {
    watermark: true,
    quality: 'high',
    format: 'jpeg',
    colorspace: 'gray',
    colorprofile: '-',
    dpi: 300,
    size: 'custom',
    custom_size: 'cover',
    custom_size_pixel: 0,
    custom_width_pixel: 20,
    custom_height_pixel: 10,
    transform: { 'rotate-x': 0, 'rotate-y': 1, 'rotate-z': 90, crop: { top: 1, left: 2, width: 30, height: 10 } },
  }
  const ofImages = (...versions: Json[]) => ({ classes: { image: versions } })

  test('EXP-008 says of classes of files in which versions they are exported', async () => {
    const classes = {
      image: [
        { type: 'original', metadata: 'keep' },
        { type: 'version', version: 'small', metadata: 'remove' },
        { type: 'current', metadata: 'standard' },
        { type: 'custom', custom },
      ],
      video: [{ type: 'original' }],
    }
    assert.deepEqual((await kept({ classes })).classes, classes)
    const preset = { name: 'web', displayname: { 'en-US': 'Web' }, custom: { size: 'custom', custom_size_pixel: 10 } }
    const config = await root().post('/config/system/config/custom_version_presets/value/presets', [preset])
    assert.equal(config.status, 200, JSON.stringify(config.body))
    const named = ofImages({ type: 'custom', custom_version_preset: 'web' })
    assert.deepEqual((await kept(named)).classes, named.classes)
    for (const version of [
      { type: 'nothing' },
      { type: 'version' },
      { type: 'original', version: 'small' },
      { type: 'original', custom },
      { type: 'custom' },
      { type: 'custom', custom, custom_version_preset: 'web' },
      { type: 'custom', custom_version_preset: 'nothing' },
      { metadata: 'some' },
      { metadata: 4711 },
      { type: 'custom', custom, metadata: 'keep' },
    ]) {
      await refused(ofImages(version))
    }
    await refused({ classes: { nothing: [] } })
    await refused({ assets: { '1': { versions: [{ type: 'version' }] } } })
  })

  test('EXP-009 EXP-010 EXP-011 EXP-012 says of pictures what they are to be, in words and numbers that there are', async () => {
    const of = (more: Json) => ofImages({ type: 'custom', custom: { ...custom, ...more } })
    const good: Json[] = [
      {},
      ...['low', 'small', 'medium', 'high', 'maximum', '1', '100'].map((quality) => ({ quality })),
      ...['keep', 'jpeg'].map((format) => ({ format })),
      ...['tiff', 'png', 'bmp'].map((format) => ({ format, quality: '' })),
      ...['', 'rgb', 'sRGB', 'srgb', 'gray', 'cmyk'].map((colorspace) => ({ colorspace })),
      { colorprofile: '' },
      { watermark: false },
      { dpi: 0 },
      { size: 'keep', custom_size: 'dimension_max', custom_width_pixel: 0, custom_height_pixel: 0 },
      ...['dimension_max', 'dimension_min', 'width', 'height'].map((custom_size) => ({
        custom_size,
        custom_size_pixel: 5,
        custom_width_pixel: 0,
        custom_height_pixel: 0,
      })),
      { custom_size: 'contain' },
      { transform: { 'rotate-x': 180 } },
      { transform: { 'rotate-z': 270, crop: null } },
    ]
    for (const more of good) assert.deepEqual((await kept(of(more))).classes, of(more).classes, JSON.stringify(more))
    const wrong: Json[] = [
      ...['0', '101', 'best', 'medium '].map((quality) => ({ quality })),
      { quality: 80 },
      ...['webp', 'gif', 'JPEG'].map((format) => ({ format })),
      { colorspace: 'lab' },
      { size: 'some' },
      { custom_size: 'depth' },
      { dpi: -1 },
      { custom_width_pixel: 0 },
      { custom_size_pixel: 5 },
      { watermark: 'yes' },
      { transform: { 'rotate-x': 1, 'rotate-y': 1 } },
      { transform: { 'rotate-x': 1.5 } },
      { transform: { crop: { top: -1 } } },
    ]
    for (const more of wrong) await refused(of(more))
  })

  test('EXP-014 names its documents; tables take options, and are answered as false where they are absent', async () => {
    const plain = await kept({})
    assert.deepEqual([plain.csv, plain.xlsx], [false, false])
    const switches = ['csv', 'xlsx', 'xml', 'xml_one_file_per_object', 'json', 'json_one_file_per_object']
    for (const name of switches) {
      for (const value of [true, false]) assert.equal((await kept({ [name]: value }))[name], value)
      await refused({ [name]: 1 })
    }
    const told = await kept({ csv: { delimiter: ';', quote: "'", escape: '\\', use_bom: true } })
    assert.deepEqual(told.csv, { delimiter: ';', quote: "'", escape: '\\', use_bom: true })
    // No reader could tell the cells of such a table from each other.
    for (const csv of [{ delimiter: '"' }, { delimiter: '\n' }, { quote: ',' }, { delimiter: ';', escape: ';' }]) {
      await refused({ csv })
    }
  })

  test('EXP-015 EXP-017 EXP-019 names mapping, depth and names of files within their bounds', async () => {
    for (const mapping of ['native', 'native_flat']) assert.equal((await kept({ xml: true, mapping })).mapping, mapping)
    const modes = ['none', 'in_main_search', 'not_in_main_search', 'not_in_main_search_unless_reverse', 'all']
    for (const merge_linked_objects of modes) {
      assert.equal((await kept({ merge_linked_objects })).merge_linked_objects, merge_linked_objects)
    }
    const numbers = { merge_max_depth: 3, file_url_expire_days: 30, batch_size: 10_000 }
    const answered = await kept(numbers)
    assert.deepEqual({ ...numbers, ...answered }, answered)
    assert.equal((await kept({ batch_size: 0 })).batch_size, 0)
    const template = '%work.title.en-US% - %_asset.original_filename%'
    assert.equal((await kept({ filename_template: template })).filename_template, template)
    assert.deepEqual((await kept({ produce_options: { plugin: 'json' } })).produce_options, { plugin: 'json' })
    for (const wrong of [
      { mapping: '5' },
      { merge_linked_objects: 'some' },
      { merge_max_depth: 1.5 },
      { merge_max_depth: 11 },
      { file_url_expire_days: 0 },
      { file_url_expire_days: 36_000 },
      { batch_size: -1 },
      { batch_size: 10_001 },
      { filename_template: '%work.nothing%' },
      { filename_template: template, filename_original: true },
      { produce_options: { plugin: 'nothing:there' } },
      { produce_options: { plugin: 'nothing' } },
      { produce_options: 'json' },
      { nothing: true },
    ]) {
      await refused(wrong)
    }
  })

  test('EXP-020 EXP-021 EXP-022 EXP-024 EXP-026 EXP-033 has moments, files and schedules', async () => {
    const schedule = {
      days_of_month: [1],
      weekdays: ['mon', 'sun'],
      hours: [3],
      minutes: [0, 30],
      timezone: 'Europe/Berlin',
    }
    const first = await saved(museum.svc, 'root', draft({ json: true }, { _schedules: [schedule] }))
    const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
    assert.match(first._date_created, moment)
    assert.match(first._last_updated_at, moment)
    assert.match(first._next_run_at, moment)
    assert.deepEqual(first._schedules, [schedule])
    const next = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'Europe/Berlin',
      weekday: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
    })
    assert.match(next.format(new Date(first._next_run_at)), /^(Mon|Sun),? 1,?( at)? 03:00$/)
    assert.equal(first._last_run_at, undefined)
    const done = await ran(museum.svc, 'root', first.export._id)
    assert.equal(done._state, 'done')
    assert.match(done._last_run_at, moment)
    assert.equal(done._last_relevant_run_at, done._last_run_at)
    assert.ok(done._last_run_at >= first._date_created)
    assert.equal(done._last_relevant_object_count, 3)
    const [file, ...others] = done._files
    assert.deepEqual([file.path, others], ['export.json', []])
    assert.ok(file.size > 1000)
    assert.match(file.date_created, moment)
    assert.deepEqual(
      done._log.map(({ _basetype, event }: Json) => [_basetype, event.type]),
      ['OBJECT_INSERT', 'OBJECT_UPDATE', 'EXPORT_START', 'OBJECT_UPDATE', 'EXPORT_FINISH', 'OBJECT_UPDATE'].map(
        (type) => ['event', type],
      ),
    )
    const { _id, _version } = done.export
    const { body: changed } = await root().post(`/export/${_id}`, draft({ _id, _version }))
    assert.equal(changed._next_run_at, undefined)
    assert.ok(changed._last_updated_at > first._last_updated_at)
    assert.equal(changed._date_created, first._date_created)
    for (const wrong of [
      { weekdays: ['monday'] },
      { hours: [24] },
      { minutes: [60] },
      { minutes: ['0'] },
      { days_of_month: [0] },
      { timezone: 'Mars/Olympus' },
    ]) {
      await refused({}, { _schedules: [wrong] })
    }
  })

  test('EXP-027 belongs to its latest saver, whatever is sent', async () => {
    const ann = await addUser(museum.svc, 'ann27')
    const userOf = async (id: number) =>
      (await museum.svc.db.query<Json>('select user_id as "userId" from export where id = $1', [id])).rows[0]?.userId
    const claims = { _user: { _basetype: 'user', user: { _id: 1 } }, user_id: 1 }
    for (const method of ['post', 'put'] as const) {
      const { status, body } = await museum.svc.as('ann27')[method]('/export', draft({ user_id: 1 }, claims))
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual([body._user.user._id, Number(await userOf(body.export._id))], [ann, ann])
      const { _id } = body.export
      const again = await museum.svc.as('ann27').post(`/export/${_id}`, draft({ _id, _version: 1, user_id: 1 }, claims))
      assert.deepEqual([again.status, again.body._user.user._id], [200, ann])
      const taken = await root().post(`/export/${_id}`, draft({ _id, _version: 2, user_id: ann }, { user_id: ann }))
      assert.deepEqual([taken.body._user.user._id, Number(await userOf(_id))], [1, 1])
      assert.deepEqual(codeOf(await museum.svc.as('ann27').get(`/export/${_id}`)), [403, 'InsufficientRights'])
    }
  })

  test('EXP-028 is in the log of objects, with its state', async () => {
    for (const method of ['post', 'put'] as const) {
      const { body } = await root()[method]('/export', draft())
      const { _id } = body.export
      await root()[method](method === 'post' ? `/export/${_id}` : '/export', draft({ _id, _version: 1 }))
      await root().delete(`/export/${_id}`)
      const { rows } = await museum.svc.db.query<Json>(
        `select type, pollable, info from event where basetype = 'export' and object_id = $1 order by id`,
        [_id],
      )
      assert.deepEqual(
        rows.map(({ type, pollable, info }: Json) => [type, pollable, info]),
        ['OBJECT_INSERT', 'OBJECT_UPDATE', 'OBJECT_DELETE'].map((type) => [type, true, { state: 'new' }]),
      )
    }
  })

  test('EXP-016 EXPAPI-010 XML passes a style sheet, which is a file .xsl or .xslt', async () => {
    const sheet = `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:o="urn:strongroom:objects:1">
      <xsl:template match="/"><titles><xsl:for-each select="//o:work"><t><xsl:value-of select=".//o:title"/></t></xsl:for-each></titles></xsl:template>
    </xsl:stylesheet>`
    const sent = [
      { name: 'picture.jpg', content: await picture(1) },
      { name: 'own.xsl', content: Buffer.from(sheet) },
      { name: 'known.xslt', content: Buffer.from(sheet) },
    ]
    const { body: files } = await upload(museum.svc, 'root', sent)
    const ids = files.map(({ _id }: Json) => _id)
    const config = await root().post('/config/system/config/export/xslts', [
      { xslt: { _id: ids[2] }, oai_pmh_prefix: 'titles' },
    ])
    assert.equal(config.status, 200, JSON.stringify(config.body))
    for (const method of ['post', 'put'] as const) {
      for (const _id of [ids[0], 4711]) {
        const answer = await root()[method]('/export', draft({ xml: true, xslt_xml_post_processing: { _id } }))
        assert.deepEqual(codeOf(answer), [400, 'ServerGeneric'])
      }
    }
    await refused({ xml: true, xslt_xml_post_processing: {} })
    await refused({ xml: true, xslt_xml_post_processing: { _id: 'x' } })
    const xslt_xml_post_processing = { _id: ids[2] }
    assert.deepEqual(
      (await kept({ xml: true, xslt_xml_post_processing })).xslt_xml_post_processing,
      xslt_xml_post_processing,
    )
    const one = await exported(museum.svc, { xml: true, xslt_xml_post_processing })
    assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
    const { body } = await fetchedFile(museum.svc, one.export._id, 'export.xml')
    assert.match(body, /<titles[^>]*><t>a<\/t><t>b<\/t><t>c<\/t><\/titles>/)
  })

  test('what an export is refused for changes nothing', async () => {
    const { export: stored } = await saved(museum.svc, 'root', draft({ json: true }))
    const before = (await root().get(`/export/${stored._id}`)).body
    const { _id } = stored
    for (const more of [{ batch_size: -1 }, { search: undefined }, { type: 'x' }, { _version: 7 }]) {
      const answer = await root().post(`/export/${_id}`, draft({ _id, _version: 1, ...more }))
      assert.equal(answer.status, 400)
    }
    assert.deepEqual((await root().get(`/export/${_id}`)).body, before)
  })

  test('an export that is answered can be sent back', async () => {
    const done = await exported(museum.svc, { json: true, csv: false, fields: { 'work.title': {} } })
    const { status, body } = await root().post(`/export/${done.export._id}`, done)
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual({ ...body.export, _version: 1 }, done.export)
    assert.deepEqual(body.export.search, allWorks)
  })
})
