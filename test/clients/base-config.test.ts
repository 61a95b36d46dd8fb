import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/** Sections of the base configuration in the shapes of other clients, beside those of this service. */

let svc: TestService
before(async () => {
  svc = await startService()
})
after(() => svc[Symbol.asyncDispose]())

const root = () => svc.as('root')
const save = (sections: object, query = {}) => root().post('/config', { system: { config: sections } }, query)
const section = async (name: string): Promise<Json> => (await root().get(`/config/system/config/${name}`)).body

test('renditions are taken as recipes with parameters, and answered as this service has them', async () => {
  const classes = {
    image: {
      versions: [
        {
          name: 'small',
          displayname: { 'en-US': 'Small' },
          extensions: ['jpg', 'png'],
          group: 'small',
          recipename: 'imageconverter:browserthumbs',
          standard: true,
          rightsmanagement: false,
          watermark: false,
          sourceversion: '',
          custommetadata: { extensions: [], recipename: '' },
          params: { format: 'jpg', size: 250, resize_mode: '', jpegquality: 85, colorprofile: '', dpi: 0, strip: true },
        },
        {
          name: 'marked',
          sourceversion: 'small',
          recipename: 'imageconverter:preview_pool_watermark',
          params: { size: 200, resize_mode: 'width', size_minimum: 300, clip: false, background: '', enlarge: false },
        },
      ],
    },
    office: {
      versions: [
        { name: 'pdf', recipename: 'officeconverter:pdf', extensions: ['docx'], params: {} },
        { name: 'preview', recipename: 'officeconverter:preview', params: { format: 'png', size: 1000 } },
      ],
    },
    video: {
      versions: [
        { name: 'still', recipename: 'videoconverter:thumbnail', params: { size: '720', format: 'jpg', timeout: '' } },
        { name: '360p', recipename: 'videoconverter:resize', params: { height: 360, height_minimum: 360 } },
      ],
    },
    audio: {
      versions: [
        { name: 'aac', recipename: 'audioconverter:convert', params: { format: 'aac' } },
        // Rows of both kinds may stand beside each other.
        { name: 'cover', recipe: 'image', size: 250 },
      ],
    },
  }
  const saved = await save({ produce_config: { value: { classes } } })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const stored = (await section('produce_config')).value.classes
  const rows = (kind: string, ...members: string[]) =>
    stored[kind].versions.map((row: Json) => members.map((member) => row[member]))
  assert.deepEqual(
    rows('image', 'name', 'recipe', 'size', 'resize_mode', 'quality', 'standard', 'rights_management', 'watermark'),
    [
      ['small', 'image', 250, 'max', 85, true, false, false],
      ['marked', 'image', 200, 'width', 80, false, true, true],
    ],
  )
  assert.deepEqual(rows('image', 'source', 'size_minimum', 'group', 'format', 'extensions'), [
    ['', 0, 'small', 'jpg', ['jpg', 'png']],
    ['small', 300, '', 'auto', []],
  ])
  assert.deepEqual(rows('office', 'name', 'recipe', 'size', 'format'), [
    ['pdf', 'pdf', 0, 'auto'],
    ['preview', 'image', 1000, 'png'],
  ])
  assert.deepEqual(rows('video', 'name', 'recipe', 'size', 'size_minimum'), [
    ['still', 'image', 720, 0],
    ['360p', 'video', 360, 360],
  ])
  assert.deepEqual(rows('audio', 'name', 'recipe', 'size'), [
    ['aac', 'audio', 0],
    ['cover', 'image', 250],
  ])
  // What is answered may be sent back.
  const document = (await root().get('/config')).body
  assert.deepEqual((await root().post('/config', document)).body, document)
})

test('what renditions cannot be here is refused by its place', async () => {
  const before = await section('produce_config')
  const thumbs = { name: 'a', recipename: 'imageconverter:browserthumbs' }
  for (const [kind, row, place] of [
    ['image', { ...thumbs, recipename: 'imageconverter:vectortosvg' }, 'recipename'],
    ['image', { ...thumbs, recipename: 'toString' }, 'recipename'],
    ['image', { ...thumbs, recipename: null }, 'recipename'],
    ['image', { ...thumbs, params: 'all' }, 'params'],
    ['image', { ...thumbs, params: { clip: true } }, 'params/clip'],
    ['image', { ...thumbs, params: { colorspace: 'cmyk' } }, 'params/colorspace'],
    ['image', { ...thumbs, params: { dpi: 300 } }, 'params/dpi'],
    ['image', { ...thumbs, params: { nonsense: 1 } }, 'params/nonsense'],
    ['image', { ...thumbs, nonsense: 1 }, 'nonsense'],
    ['image', { ...thumbs, custommetadata: { recipename: '_metadata:ocr' } }, 'custommetadata'],
    ['image', { ...thumbs, params: { size: -1 } }, 'size'],
    ['office', { name: 'a', recipename: 'pdfconverter:pdfpages', params: {} }, 'recipename'],
    [
      'video',
      { name: 'a', recipename: 'videoconverter:resize', params: { ffmpeg_params: '-an' } },
      'params/ffmpeg_params',
    ],
    ['audio', { name: 'a', recipename: 'audioconverter:convert', params: { format: 'mp3' } }, 'params/format'],
    ['audio', { name: 'a', recipename: 'videoconverter:resize', params: {} }, 'recipe'],
  ] as const) {
    const { status, body } = await save({ produce_config: { value: { classes: { [kind]: { versions: [row] } } } } })
    const path = `system/config/produce_config/value/classes/${kind}/versions/0/${place}`
    assert.deepEqual([status, body.parameters?.path], [400, path], JSON.stringify(body))
  }
  assert.deepEqual(await section('produce_config'), before)
})

test('register is what is called registration here', async () => {
  const [{ group }] = (await root().post('/group', [{ group: { name: 'readers' } }])).body
  const register = {
    enable: true,
    form: { first_name: 'require', last_name: 'show', phone: 'hide', address: 'require', use_in_user_manager: false },
    groups: [{ group: group._id }],
    info: { 'en-US': 'Welcome' },
  }
  const saved = await save({ register })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const stored = await section('registration')
  assert.deepEqual(
    [stored.active, stored.info, stored.groups],
    [true, { 'en-US': 'Welcome' }, [{ group_id: group._id }]],
  )
  assert.deepEqual(
    stored.fields.map(({ name, required }: Json) => [name, required]),
    [
      ['first_name', true],
      ['last_name', false],
      ['address_supplement', false],
      ['street', true],
      ['house_number', true],
      ['postal_code', true],
      ['town', true],
      ['country', true],
    ],
  )
  assert.equal('register' in saved.body.system.config, false)
  for (const [wrong, place] of [
    ['on', ''],
    [{ nonsense: 1 }, '/nonsense'],
    [{ form: 'all' }, '/form'],
    [{ form: { shoe_size: 'show' } }, '/form/shoe_size'],
    [{ form: { phone: 'maybe' } }, '/form/phone'],
    [{ form: { use_in_user_manager: true } }, '/form/use_in_user_manager'],
    [{ groups: 5 }, '/groups'],
    [{ groups: [5] }, '/groups/0'],
  ] as const) {
    const { status, body } = await save({ register: wrong })
    assert.deepEqual([status, body.parameters?.path], [400, `system/config/register${place}`], JSON.stringify(body))
  }
  const both = await save({ register, registration: { active: false } })
  assert.deepEqual([both.status, both.body.parameters.path], [400, 'system/config/register'])
  const taken = await save(
    { register: { form: { shoe_size: 'show' } }, name: { internal_name: 'x' } },
    { save: 'ignore_errors' },
  )
  assert.equal(decodeURIComponent(String(taken.headers['x-svc-ignored'])), 'system/config/register/form/shoe_size')
  assert.deepEqual([await section('registration'), (await section('name')).internal_name], [stored, 'x'])
  // The right that groups take is asked of both shapes.
  assert.equal((await root().post('/config/system/config', { register: { enable: false } })).status, 200)
  assert.equal((await section('registration')).active, false)
})

test('groups of users of SAML are not looked up in a directory, which is said', async () => {
  const ldap = { connections: [], bindusername: '', bindpassword: '', groupbasedn: '', groupfilter: '' }
  assert.equal((await save({ saml: { ldap } })).status, 200)
  for (const more of [
    { groupbasedn: 'ou=groups' },
    { bindpassword: 'x' },
    { connections: [{ url: 'ldaps://a.example' }] },
  ]) {
    const { status, body } = await save({ saml: { ldap: { ...ldap, ...more } } })
    assert.deepEqual([status, body.parameters?.path], [400, 'system/config/saml/ldap'], JSON.stringify(body))
    assert.match(body.message, /groupmapping/)
  }
})
