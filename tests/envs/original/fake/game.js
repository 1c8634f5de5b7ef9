// A toy with the names of the original's properties and none of its code: what the adapter must find, read and drive.
(function () {
  var BODIES = ["torso", "head", "leftForearm", "leftThigh", "leftArm", "leftCalf", "leftFoot", "rightForearm",
    "rightArm", "rightCalf", "rightFoot", "rightThigh", "hurdleBase", "hurdleTop"];
  var JOINTS = ["leftAnkle", "leftElbow", "leftHip", "leftKnee", "leftShoulder", "neck", "rightAnkle", "rightElbow",
    "rightHip", "rightKnee", "rightShoulder"];
  var asked = new URLSearchParams(location.search);

  function World() { this.m_bodyList = null; this.order = 0; this.contacts = [0.5]; }
  World.prototype = {
    destroyJoint: function () {},
    destroyBody: function (body) {
      this.order += 1; // as in the original, a later reset does not find the world as the first one did
      var before = null;
      for (var b = this.m_bodyList; b !== body; b = b.m_next) before = b;
      if (before) before.m_next = body.m_next; else this.m_bodyList = body.m_next;
    },
    step: function () {
      this.contacts.push(this.contacts.length);
      for (var b = this.m_bodyList; b; b = b.m_next) {
        b.m_xf.position.x += b.m_linearVelocity.x + this.order / 1024;
        b.m_sweep.a += b.m_angularVelocity;
      }
    },
  };

  function Game() { this.score = 0; this.scoreTime = 0; }
  Game.prototype = {
    ready: function () {
      this.QDown = this.WDown = this.ODown = this.PDown = false;
      this.firstClick = this.gameEnded = this.jumped = this.jumpLanded = this.fallen = this.pause = false;
      this.doneLoading = false;
      this.m_world = new World();
      this.world_camera = { at: { x: -200, y: 0 }, get_pos: function () { return this.at; } };
      var game = this;
      setTimeout(function () { game.create_player(); game.doneLoading = !asked.has("stuck"); }, 150);
    },
    create_player: function () {
      var world = this.m_world;
      BODIES.forEach(function (name, i) {
        var body = { m_userData: name, m_next: world.m_bodyList, m_xf: { position: { x: i, y: -i } }, m_sweep: { a: 0 },
          m_linearVelocity: { x: 0, y: 0 }, m_angularVelocity: 0, m_torque: i };
        world.m_bodyList = body;
        this[name] = { body: body, destroy: function () { world.destroyBody(body); } };
      }, this);
      JOINTS.forEach(function (name, i) {
        this[name] = { m_bodyA: this.torso.body, m_bodyB: this.head.body, m_referenceAngle: i / 8,
          m_lowerAngle: -i };
      }, this);
    },
    reset: function () {
      this.score = this.scoreTime = 0;
      BODIES.forEach(function (name) { this[name].destroy(); }, this);
      this.world_camera.get_pos().x = -280;
      this.create_player();
      this.fallen = this.gameEnded = this.jumped = this.jumpLanded = this.pause = false;
      this.update(0.03333333333333333);
    },
    update: function (seconds) {
      if (!this.pause && !this.gameEnded) this.scoreTime += seconds;
      if (!this.firstClick || this.pause) return;
      var torso = this.torso.body, head = this.head.body;
      // The head's turn tells which keys a frame had; the camera takes part, as in the original.
      head.m_angularVelocity = (this.QDown ? 1 : 0) + (this.WDown ? 2 : 0) + (this.ODown ? 4 : 0) + (this.PDown ? 8 : 0);
      torso.m_linearVelocity.x = (this.QDown ? 0.25 : 0) + (this.WDown ? -0.25 : 0) + this.world_camera.get_pos().x / 4096;
      torso.m_linearVelocity.y = this.PDown ? 1 : 0;
      this.m_world.step(0.04);
      (window.heard = window.heard || []).push(head.m_angularVelocity); // for tests to know when keys have arrived
      this.world_camera.get_pos().x += 1;
      torso.m_xf.position.y += torso.m_linearVelocity.y;
      this.score = Math.round(torso.m_xf.position.x) / 10;
      if (torso.m_xf.position.y > 5) this.fallen = true;
      if (torso.m_xf.position.x > 5) { this.jumped = this.jumpLanded = true; this.score = 100.2; }
      if (!this.gameEnded && (this.fallen || this.jumpLanded)) this.gameEnded = true;
    },
  };

  var game = new Game(), last = performance.now(), fields = { q: "QDown", w: "WDown", o: "ODown", p: "PDown" };
  document.addEventListener("keydown", function (e) { if (fields[e.key]) game[fields[e.key]] = true; });
  document.addEventListener("keyup", function (e) {
    if (fields[e.key]) game[fields[e.key]] = false;
    if (e.key === "r" || (e.key === " " && game.gameEnded)) game.reset();
  });
  document.querySelector("canvas").addEventListener("mousedown", function () { game.firstClick = true; });
  game.ready();
  (function loop() {
    for (; performance.now() - last >= 1000 / 30; last += 1000 / 30) game.update(0.03333333333333333);
    requestAnimationFrame(loop);
  })();
})();
